"""Attacks on our own releases: what an attacker measures must stay below what the ledger claims.

An audit can refute a claim and can never verify it. It runs on public or generated records only.
"""
