import { policyText } from '../decide/workload.ts';

/** Number of policy lines that match no request of the benchmark. */
export const LINES = 10_000;
/** Role of the reader who sends the requests. */
export const ROLE = 'role:reader';

/** What the service under test enforces: a long policy and two limits that count each request and refuse none. */
export const enforced = {
  policy: `${policyText(LINES)}p, ${ROLE}, /**, read, allow\np, role:admin, /**, *, allow\n`,
  limits: `limits:
  - name: everyone
    rate: 1000000/s
    burst: 1000000
  - name: readers
    subjects: ["${ROLE}"]
    operations: [describe, read]
    concurrency: 1000
`,
};
