"""Attacks on our own releases: the ε that an attacker shows must stay below the ε that the ledger claims.

An audit can refute a claim; it can never prove one. It runs on public or generated records only.
"""
