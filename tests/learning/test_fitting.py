"""Fits of jobs: the same numbers whatever works at a time, and what an interruption leaves."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from calipers import InputError
from calipers.learning.fitting import FitJob, TrainingData, fit_all, weight_parameter

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
Y = X @ [1, 2, 0, -1] + RNG.normal(size=60)
ROWS = np.arange(60)


def jobs(estimator, folds=4, **more):
    return [
        FitJob(
            estimator, ROWS[ROWS % folds != k], (ROWS[ROWS % folds == k],), seed_key=(k,), **more
        )
        for k in range(folds)
    ]


def said(fits):
    return np.concatenate([fit.predictions[0] for fit in fits.results])


def test_a_fit_is_that_of_scikit_learn():
    fits = fit_all(jobs(LinearRegression()), TrainingData(X, Y))
    first = LinearRegression().fit(X[ROWS % 4 != 0], Y[ROWS % 4 != 0])
    assert fits.results[0].predictions[0] == pytest.approx(first.predict(X[::4]), rel=1e-12)
    assert fits.n_finished == 4
    assert not fits.interrupted


@pytest.mark.slow  # other processes have to start
def test_numbers_are_the_same_however_many_work_at_a_time():
    of = jobs(RandomForestRegressor(5)) + jobs(make_pipeline(StandardScaler(), SGDRegressor()))
    alone = said(fit_all(of, TrainingData(X, Y), seed=3))
    assert said(fit_all(of, TrainingData(X, Y), seed=3, n_jobs=2)).tolist() == alone.tolist()
    with joblib.parallel_config("threading"):
        assert said(fit_all(of, TrainingData(X, Y), seed=3, n_jobs=2)).tolist() == alone.tolist()
    assert said(fit_all(of, TrainingData(X, Y), seed=4)).tolist() != alone.tolist()


def test_a_shared_generator_gives_no_one_a_turn():
    shared = RandomForestRegressor(3, random_state=np.random.RandomState(0))
    alone, again = (said(fit_all(jobs(shared), TrainingData(X, Y))) for _ in range(2))
    assert alone.tolist() == again.tolist()


def test_random_states_that_are_given_stay():
    fits = fit_all(
        jobs(RandomForestRegressor(3, random_state=8)), TrainingData(X, Y), keep_models=True
    )
    assert {fit.model.random_state for fit in fits.results} == {8}
    fits = fit_all(jobs(RandomForestRegressor(3)), TrainingData(X, Y), keep_models=True)
    assert len({fit.model.random_state for fit in fits.results}) == 4


def test_parameters_reach_the_clone_and_not_the_estimator():
    ridge = Ridge()
    [fit] = fit_all(
        [FitJob(ridge, ROWS, (ROWS,), parameters={"alpha": 7})],
        TrainingData(X, Y),
        keep_models=True,
    ).results
    assert fit.model.alpha == 7
    assert ridge.alpha == 1
    with pytest.raises(InputError, match="Invalid parameter 'alhpa' for estimator Ridge"):
        fit_all([FitJob(ridge, ROWS, (ROWS,), parameters={"alhpa": 7})], TrainingData(X, Y))


def test_weights_reach_who_takes_them():
    weight = RNG.integers(0, 3, 60).astype(float)
    [fit] = fit_all(
        [FitJob(make_pipeline(StandardScaler(), Ridge()), ROWS, (ROWS,))],
        TrainingData(X, Y, weight),
    ).results
    scaled = StandardScaler().fit(X)
    assert fit.predictions[0] == pytest.approx(
        Ridge().fit(scaled.transform(X), Y, sample_weight=weight).predict(scaled.transform(X))
    )
    assert weight_parameter(KNeighborsRegressor()) is None
    assert weight_parameter(make_pipeline(StandardScaler(), KNeighborsRegressor())) is None


def test_features_may_be_frames_and_kernels():
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = said(fit_all(jobs(LinearRegression()), TrainingData(X, Y)))
    assert said(
        fit_all(jobs(LinearRegression()), TrainingData(frame, pd.Series(Y)))
    ) == pytest.approx(plain)
    kernel = said(fit_all(jobs(SVR(kernel="precomputed")), TrainingData(X @ X.T, Y)))
    assert kernel == pytest.approx(said(fit_all(jobs(SVR(kernel="linear")), TrainingData(X, Y))))


class Interrupting(LinearRegression):
    def fit(self, features, target):
        if features[0, 0] == X[0, 0]:  # the second fold is the first one to be trained on row 0
            raise KeyboardInterrupt
        return super().fit(features, target)


def test_an_interruption_keeps_what_was_finished():
    fits = fit_all(jobs(Interrupting()), TrainingData(X, Y))
    assert fits.interrupted
    assert fits.n_finished == 1
    assert fits.results[1:] == (None, None, None)
    with pytest.raises(KeyboardInterrupt):
        fit_all(jobs(Interrupting())[1:], TrainingData(X, Y))


def test_what_fails_is_named():
    y = Y.copy()
    y[3] = np.nan
    with pytest.raises(InputError, match="ols, fold 1: fitting LinearRegression on 45 rows failed"):
        fit_all(jobs(LinearRegression(), name="ols, fold 1"), TrainingData(X, y))
    with pytest.raises(InputError, match="n_jobs is 0"):
        fit_all(jobs(LinearRegression()), TrainingData(X, Y), n_jobs=0)
