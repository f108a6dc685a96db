"""The wall, the ledger of what passed it, and the accountants that read the ledger."""
