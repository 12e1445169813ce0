"""What research adds to the studio: experiments, opinions as a sheet, and documents from public data sets."""

from __future__ import annotations

from redraft.lab.doctor.checkup import DOCTOR
from redraft.lab.studio import pages
from redraft.lab.studio.opinions import OPINIONS
from redraft.lab.studio.orders import documents_in_file
from redraft.lab.studio.work import EXPERIMENTS, PACKAGE, open_lab
from redraft.studio.context import Extension, MenuLink

EXTENSION = Extension(
    PACKAGE,
    open_lab,
    menu=(MenuLink("/experiments", "experiments", "Experiments"),),
    reading=pages.READING,
    working=pages.WORKING,
    endpoints=(OPINIONS, *EXPERIMENTS),
    uploads=frozenset({"/api/experiments", "/experiments/new"}),
    read_documents=lambda content, name: documents_in_file(content, name).documents,
    own_documents=DOCTOR,
)
