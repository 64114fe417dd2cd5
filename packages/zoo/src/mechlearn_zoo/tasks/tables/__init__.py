"""Tables with rows of several sites: data that ships with scikit-learn, with what sites write into it, and cities."""

from craik.tasks.tables.sites import SiteTable as SiteTable
