"""The wall, the ledger of its releases, and the accountants that compute ε from the ledger."""
