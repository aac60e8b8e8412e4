"""A coverage-guided fuzzer for the readers and the writers; `make fuzz` runs it.

``targets`` lists what must hold for any bytes: ``reading`` and ``writing`` check it with what
``promise`` gives them. ``seeds`` is what the search begins with, ``structure`` and ``cells`` change
a report or a table so that it still is nearly one, and ``invent`` makes of bytes, by ``draw``,
something to write. ``worker`` lets atheris search one target, ``campaign`` runs all of them in the
time that there is, and ``findings`` keeps what fails. Only ``worker`` needs atheris.
"""
