"""Signing in to a registry: the dialog, and the card that stands where something failed for want of it."""

from kitstudio.ui.sign_in.card import SignInCard
from kitstudio.ui.sign_in.dialog import SignInDialog

__all__ = ["SignInCard", "SignInDialog"]
