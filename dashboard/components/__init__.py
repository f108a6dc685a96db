"""What pages are made of; no component knows a page."""
