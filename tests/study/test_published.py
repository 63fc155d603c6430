from vbcgcd.study.published import paper_experiment, published


def test_printed_means_agree_with_printed_sessions():
    """M_d is the mean of the printed New: the paper's own sum, recomputed."""
    for name in ("ablation", "covariance"):
        for dataset in ("cifar100", "tinyimagenet", "imagenet100", "cub200"):
            for row in published(name, dataset):
                if row.sessions and row.discovery is not None:
                    mean = sum(s[2] for s in row.sessions) / len(row.sessions)
                    assert abs(mean - row.discovery) < 2.0, (name, dataset, row.method)


def test_a_printed_table_belongs_to_its_own_plan():
    assert paper_experiment("long", "b50t5") == "main"
    assert paper_experiment("ablation", "b50t5") == "ablation"
    assert paper_experiment("ablation", "b10t9") == paper_experiment("main", "custom") == ""


def test_the_last_session_is_the_final_one():
    [ours] = [row for row in published("main", "cifar100") if row.method == "VB-CGCD"]
    assert (ours.all, ours.old, ours.new) == tuple(ours.sessions[-1]) == (81.23, 81.84, 75.7)
