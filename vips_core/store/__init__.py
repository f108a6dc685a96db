"""What must survive a crash: data sets, budgets, runs and the ledger of what was released."""
