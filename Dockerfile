# The studio with PostgreSQL; compose.yaml starts both.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY redraft ./redraft
RUN python -m venv /opt/redraft && /opt/redraft/bin/pip install --no-cache-dir ".[studio,postgres]"

FROM python:3.11-slim
COPY --from=build /opt/redraft /opt/redraft
RUN useradd --create-home --uid 10001 redraft
USER redraft
WORKDIR /home/redraft
ENV PATH=/opt/redraft/bin:$PATH PYTHONUNBUFFERED=1
EXPOSE 8765
# Every answer will do: without the token it is a refusal, which is answered all the same.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8765, timeout=4); c.request('GET', '/'); raise SystemExit(c.getresponse().status >= 500)"]
ENTRYPOINT ["redraft"]
CMD ["studio", "--host", "0.0.0.0", "--port", "8765"]
