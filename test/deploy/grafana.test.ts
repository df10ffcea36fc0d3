import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { metricTable, type MetricRow } from '../../src/gateway/telemetry/metric-table.ts';
import { readDocument, root } from '../support/documents.ts';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly h: number;
    readonly w: number;
    readonly x: number;
    readonly y: number;
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana/arrowgate.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
};
const { panels } = dashboard;
const charts = panels.filter(({ type }) => type !== 'row');
const queries = charts.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);
const rows = new Map<string, MetricRow>(Object.values(metricTable).map((row) => [row.name, row]));
/** Labels that Prometheus adds, and that of the buckets of a histogram. */
const ADDED = ['job', 'instance', 'le'];

describe('the dashboard', () => {
  it('has a query in each chart, and places for all that do not overlap', () => {
    expect(charts.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it.each(queries)('names metrics and labels that there are: $title', ({ expr, legendFormat }) => {
    const named = [...expr.matchAll(/\barrowgate_\w+/g)].map(([name]) =>
      name.replace(/_bucket$/, ''),
    );
    expect(named.length).toBeGreaterThan(0);
    const reference = readDocument('docs/reference/metrics.md');
    expect(named.filter((name) => !reference.includes(`| \`${name}\` |`))).toEqual([]);
    const labels = named.flatMap((name) => rows.get(name)?.labels ?? []) as readonly string[];
    const used = [
      ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
      ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => label!),
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
    ];
    expect(used.filter((label) => ![...labels, ...ADDED].includes(label))).toEqual([]);
  });

  it('shows every kind of metric of the gateway but those that only carry a text', () => {
    const shown = queries.map(({ expr }) => expr).join('\n');
    const absent = [...rows.keys()].filter((name) => !shown.includes(name));
    expect(absent.toSorted()).toEqual([
      'arrowgate_info',
      'arrowgate_policy_info',
      'arrowgate_scrub_finished_seconds',
    ]);
  });

  it.runIf(hasPromtool)('has queries that Prometheus parses (needs promtool)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-grafana-'));
    const check = async (list: readonly string[]) => {
      // Each query is a recording rule. Grafana replaces variables before it sends a query.
      const rules = list.map((expr, at) => ({
        record: `arrowgate:panel:${at}`,
        expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.+'),
      }));
      const file = join(folder, 'rules.yaml');
      await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], {
        encoding: 'utf8',
      });
      return { status, said: stdout + stderr };
    };
    try {
      const list = queries.map(({ expr }) => expr);
      const { status, said } = await check(list);
      expect([status, said]).toEqual([0, expect.stringContaining(`${list.length} rules found`)]);
      expect((await check(['sum by (job (up)'])).status).not.toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
