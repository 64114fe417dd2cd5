"""Tables with rows of several sites: data that ships with scikit-learn, with what sites write into it, and cities."""

from mechlearn_zoo.tasks.tables.sites import SiteTable as SiteTable
