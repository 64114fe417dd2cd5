"""What other people's rules, matchings and teachers owe, as checks for their tests."""

from craik.testing.matchings import check_matching as check_matching
