import { Link } from './router.tsx';

interface TabsProps {
  readonly label: string;
  /** Address, name, and whether it is shown. */
  readonly tabs: readonly (readonly [string, string, boolean])[];
}

/** Links to the parts of a page. */
export function Tabs({ label, tabs }: TabsProps) {
  return (
    <nav aria-label={label} class="periods">
      {tabs.map(([to, name, current]) => (
        <Link key={to} to={to} current={current}>
          {name}
        </Link>
      ))}
    </nav>
  );
}
