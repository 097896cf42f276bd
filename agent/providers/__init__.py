"""What the user says about providers, in files and flags: models.json, auth.json and key files; which provider and
which model a run uses; and whether a key is accepted.

What is known of models and of providers without the user is in `agent.model`.
"""
