"""Trajectories of one's own: an estimator that steps, and whether it should choose its steps."""

from mechlearn.tables.forecasts.forecaster import SkipForecaster as SkipForecaster
from mechlearn.tables.forecasts.forecasting import compare_forecasters as compare_forecasters
