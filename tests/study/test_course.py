"""The course of a method is tested through both of its users: test_runner.py and streams/test_run.py."""

import numpy as np

from vbcgcd.study.course import Course
from vbcgcd.study.runner import make_method, run_plan


def test_a_course_walked_by_hand_gives_what_run_plan_gives(small_data, small_plans):
    plan, steps = small_plans[0], []
    course = Course(make_method("ncm-kmeans"), small_data, plan, number_known=True, progress=steps.append)
    course.fit()
    for session in plan.sessions:
        truth = course.codes(small_data.train_y[session.rows])
        outcome = course.discover(small_data.train_x[session.rows], truth, course.codes(session.novel))
        assert len(outcome.labels_) == len(truth)
    walked, run = course.result(), run_plan(make_method("ncm-kmeans"), small_data, plan)
    assert walked.accuracies() == run.accuracies()
    assert (walked.stability, walked.test_clusters) == (run.stability, run.test_clusters)
    assert steps == ["fit", "session 1 of 2", "session 2 of 2"]
    assert 0 < course.macro <= 1
    assert walked.test_clusters.acc == walked.sessions[-1].joint.all
    assert np.isclose(walked.session_clusters.nmi, walked.sessions[-1].stream.nmi)
