"""Attacks on our own releases: what an attacker measures must stay below what the ledger claims.

An audit can refute a claim; it can never prove one. It runs on public or generated records only.
"""
