import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricTable, type MetricRow } from '../../src/gateway/telemetry/metric-table.ts';
import { root } from '../support/documents.ts';

const folder = join(root, 'deploy/prometheus');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

const text = readFileSync(join(folder, 'alerts.yaml'), 'utf8');
const rules = (parse(text) as Rules).groups.flatMap((group) => group.rules);
const rows = new Map<string, MetricRow>(Object.values(metricTable).map((row) => [row.name, row]));

function promtool(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? 'good' : `${stdout}${stderr}`;
}

describe('the alerts', () => {
  it.each(rules)('$alert names metrics and labels of the table', ({ expr }) => {
    const named = [...expr.matchAll(/\b(arrowgate_\w+)(?:\{([^}]*)\})?/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, name = '', selectors = ''] of named) {
      const labels = [...selectors.matchAll(/(\w+)[=!]/g)].map(([, label]) => label);
      expect(rows.get(name)?.labels ?? `${name} is no metric`).toEqual(
        expect.arrayContaining(labels),
      );
    }
  });

  it('watch what an operator must not miss', () => {
    const watched = [
      'ready',
      'requests',
      'certificateExpiry',
      'keyExpiry',
      'auditArchiveLag',
    ] as const;
    const missing = watched.filter((name) => !text.includes(metricTable[name].name));
    expect(missing).toEqual([]);
  });

  it('watch every count of faults and damage, and no other count under such a name', () => {
    const counts = [...rows.keys()].filter((name) => /fault|damage/.test(name)).toSorted();
    expect(counts.length).toBeGreaterThan(2);
    const alerting = rules.filter(({ alert }) => /Fault|Damage/.test(alert));
    const watched = alerting.flatMap(({ expr }) => expr.match(/\barrowgate_\w+/g) ?? []);
    expect([...new Set(watched)].toSorted()).toEqual(counts);
  });

  it('are each provoked by a case', () => {
    const cases = readFileSync(join(folder, 'alerts.test.yaml'), 'utf8');
    const silent = rules.map(({ alert }) => alert).filter((alert) => !cases.includes(`"${alert}"`));
    expect(silent).toEqual([]);
  });

  it.runIf(hasPromtool)('are valid, and fire when they should (needs promtool)', () => {
    expect(promtool('check', 'rules', 'alerts.yaml')).toBe('good');
    expect(promtool('test', 'rules', 'alerts.test.yaml')).toBe('good');
  });
});
