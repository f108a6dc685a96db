"""One module per page: widgets, a frozen request, one call into the core, charts."""
