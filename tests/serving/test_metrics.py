"""Figures in the form that Prometheus reads."""

from dragoman.serving.metrics import Metrics


def test_requests_are_counted_by_route_and_status_and_their_times_added_up() -> None:
    metrics = Metrics()
    for seconds in (0.004, 0.2, 99.0):
        metrics.count(route="/v1/translate", method="POST", status=200, seconds=seconds)
    metrics.add("characters", 12)
    lines = metrics.text({"a": {"batches_total": 2}, "b": {"batches_total": 3}}).splitlines()
    assert 'dragoman_requests_total{method="POST",route="/v1/translate",status="200"} 3' in lines
    assert 'dragoman_request_seconds_bucket{route="/v1/translate",le="0.005"} 1' in lines
    assert 'dragoman_request_seconds_bucket{route="/v1/translate",le="0.25"} 2' in lines
    assert 'dragoman_request_seconds_bucket{route="/v1/translate",le="+Inf"} 3' in lines
    assert 'dragoman_request_seconds_count{route="/v1/translate"} 3' in lines
    assert 'dragoman_request_seconds_sum{route="/v1/translate"} 99.204' in lines
    assert "dragoman_characters_total 12" in lines
    assert 'dragoman_model_batches_total{model="b"} 3' in lines


def test_figures_of_a_busy_service_are_exact() -> None:
    metrics = Metrics()
    metrics.add("characters", 123_456_789)
    metrics.count(route="/translate", method="POST", status=200, seconds=1_234_567.25)
    lines = metrics.text({"a": {"sentences_total": 7_654_321}}).splitlines()
    assert "dragoman_characters_total 123456789" in lines
    assert 'dragoman_request_seconds_sum{route="/translate"} 1234567.25' in lines
    assert 'dragoman_model_sentences_total{model="a"} 7654321' in lines


def test_invented_methods_are_one() -> None:
    metrics = Metrics()
    for number in range(9):
        metrics.count(route="/health", method=f"X{number}", status=405, seconds=0.1)
    (line,) = [one for one in metrics.text({}).split("\n") if one.startswith("dragoman_requests_total")]
    assert 'method="other"' in line and line.endswith(" 9")


def test_values_follow_the_type_of_their_metric() -> None:
    metrics = Metrics()
    metrics.count(route="/health", method="GET", status=200, seconds=0.1)
    metrics.add("texts", 1)
    types: dict[str, str] = {}
    name = ""
    for line in metrics.text({"a": {"batches_total": 2, "waiting": 0}}).splitlines():
        if line.startswith("# TYPE "):
            _, _, name, types[name] = line.split(" ")
        else:
            assert line.startswith(name), line
    assert (types["dragoman_requests_total"], types["dragoman_requests_in_progress"]) == ("counter", "gauge")
    assert (types["dragoman_model_batches_total"], types["dragoman_model_waiting"]) == ("counter", "gauge")
