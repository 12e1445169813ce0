from pathlib import Path

from ragas.metrics import numeric_metric


@numeric_metric(name="short", allowed_values=(0, 1))
def short(response):
    return float(len(response.split()) <= 100)


print(short.score(response=Path("summary.txt").read_text()).value)
