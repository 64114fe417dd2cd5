"""Trajectories of one's own: an estimator that steps, and whether it should choose its steps."""

from craik.estimators.forecasts.forecaster import SkipForecaster as SkipForecaster
from craik.estimators.forecasts.forecasting import compare_forecasters as compare_forecasters
