import { expect, it } from 'vitest';
import { unsupportedBy } from '../../src/gateway/route.ts';

it.each([
  ['/v1/secret/a$s/create', 'secrets'],
  ['/v1/namespace/$/secret/list', 'secrets'],
  ['/v1/view/w/describe', 'views'],
  ['/v1/namespace/a/view/list/', 'views'],
  ['/v1/function/f/drop', 'functions'],
  ['/v1/namespace/$/function/list', 'functions'],
  ['/v1/table/t/errors', 'errors of functions'],
  ['/v1/materialized_view/m/describe', 'materialized views'],
  ['/v1/jobs/pause', 'pauses of jobs'],
  ['/v1/jobs/other', undefined],
  ['/v1/view', undefined],
])('%s is about %s', (path, what) => {
  expect(unsupportedBy(path)).toBe(what);
});
