"""The oracle: the product checked by textbook definitions and brute force, sharing no code with it.

Only what everybody may call is imported from shoal: ``anonymize``, ``anonymize_file``, ``audit``, ``suggest``,
``Policy``, the errors, the command line and the gateway. Everything that is compared with them is written here again,
from the papers and the documentation, in plain Python: slow, small, and easy to believe.

======================  =====================================================================
``cases``               random tables and policies, as plain data that JSON can hold
``meaning``             what a published text stands for, and what it costs
``setting``             a case as the oracle sees it: records, roles, what may be suppressed
``definitions``         the privacy models, over classes that are lists of records
``losses``              the losses, by their definitions
``optimum``             every full-domain node, every partition: is there a release, and what is the least loss?
``matching``            can every published record be given an original one of its own?
``damage``              ways to make a good release wrong
``rows``                published records: who is suppressed, and whose they may be
``results``             what became of a case, and how the product is called
``releases``            a release: safe, true, no leak, as claimed, not above the least loss
``damaged``, ``again``  damaged releases; another order, other names, every record twice
``refusals``            a refusal: was it right, and does what it offers work?
``checks``              one case through all of these
``files``, ``forms``    written files and the stream; ends, statistics, anatomy, pseudonyms
``commands``            the command line
``gateways``            answers to requests in SQL
``drafts``, ``special``  suggested policies and presets; sampling, Safe Harbor
``sparks``              Apache Spark, on request
``families``            all kinds of cases, and how often each is drawn
``reproduce``           a script for each finding, of public functions only
``explore``             draw new cases for some minutes: ``./dev explore --minutes 30``
======================  =====================================================================
"""
