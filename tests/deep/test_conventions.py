"""scikit-learn's checks, and documentation of every parameter and attribute."""

import inspect

import pytest
from numpydoc.docscrape import ClassDoc
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymeans.deep import DKM, IDEC, KhatriRaoDKM, KhatriRaoIDEC
from tests.deep.checks import QUICK, blobs, quick_models

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: Rows of several checks are wider apart than one.
OPTIONS = QUICK | {"distill_epochs": 20}


@parametrize_with_checks([DKM(4, **OPTIONS), KhatriRaoIDEC((2, 2), **OPTIONS)])
def test_scikit_learn_conventions(estimator, check):
    """One of each pair that differs in its loss, and in its centroids."""
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([IDEC(4, **OPTIONS), KhatriRaoDKM((2, 2), **OPTIONS)])
def test_scikit_learn_conventions_of_the_others(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_everything_is_described(model):
    described = ClassDoc(type(model))
    model.fit(blobs())
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    attributes = {entry.name for entry in described["Attributes"]}
    assert fitted <= attributes
    assert {name for name in attributes if not hasattr(model, name)} <= {"feature_names_in_"}
    parameters = [entry.name for entry in described["Parameters"]]
    assert parameters == list(inspect.signature(type(model)).parameters)


def test_the_four_estimators_describe_parameters_by_the_same_words():
    found = {}
    for model in quick_models():
        for entry in ClassDoc(type(model))["Parameters"]:
            found.setdefault(entry.name, set()).add((entry.type, *entry.desc))
    different = {name for name, words in found.items() if len(words) > 1}
    assert different == {"alpha"}
