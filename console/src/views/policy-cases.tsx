import type { PolicyCase } from '../policy-types.ts';
import { Link } from '../router.tsx';
import { Empty } from '../states.tsx';

/** Cases with their results, those that fail first. */
export function Cases({ cases }: { readonly cases: readonly PolicyCase[] }) {
  if (cases.length === 0) {
    return (
      <Empty>
        <h2>No cases</h2>
        <p>
          Cases in <code>cases.yaml</code> are tests of the policy: a change that breaks one is
          refused. <Link to="policy/propose">Propose some</Link>.
        </p>
      </Empty>
    );
  }
  const sorted = cases.toSorted(
    (one, other) => Number(one.fault === null) - Number(other.fault === null),
  );
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Result</th>
          <th scope="col">Line</th>
          <th scope="col">Who</th>
          <th scope="col">Action</th>
          <th scope="col">Object</th>
          <th scope="col">Expects</th>
          <th scope="col">Because</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map((one) => (
          <tr key={one.line}>
            <td data-label="Result">
              <span class={`decision ${one.fault === null ? 'allow' : 'deny'}`}>
                {one.fault === null ? 'holds' : 'fails'}
              </span>
            </td>
            <td data-label="Line" class="mono">
              {one.line}
            </td>
            <td data-label="Who">{one.subject}</td>
            <td data-label="Action">{one.action}</td>
            <td data-label="Object" class="mono">
              {one.object}
            </td>
            <td data-label="Expects">{one.expect}</td>
            <td data-label="Because">
              <span>
                {one.because}
                {one.fault !== null && <span class="fault line">{one.fault}</span>}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
