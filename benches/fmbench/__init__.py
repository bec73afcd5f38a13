# SPDX-License-Identifier: MIT
"""The runner of benches/: see benches/README.md."""
