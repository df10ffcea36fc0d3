import { readFileSync } from 'node:fs';

/** Length of a tick of `/proc/PID/stat`, in ms. */
const TICK_MILLIS = 10;

/** Processor time of a process and its children up to now, in ms. */
export function processorTime(pid: number): number {
  return processesOf(pid)
    .map((each) => readFileSync(`/proc/${each}/stat`, 'utf8').split(') ')[1]!.split(' '))
    .reduce((sum, fields) => sum + (Number(fields[11]) + Number(fields[12])) * TICK_MILLIS, 0);
}

/** A process and its children. */
export function processesOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...children.split(' ').filter(Boolean).map(Number)];
}
