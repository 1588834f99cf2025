"""Signatures: rules that recognise what failing software prints, and the engines that find it."""
