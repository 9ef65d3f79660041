import { isReason, reasons } from '../../reasons/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** Whether the object is Ready by its last status. */
export function isReportedReady({ report }: Pick<ObjectRecord, 'report'>): boolean {
  const reason = report?.ready?.reason;
  return reason !== undefined && isReason(reason) && reasons[reason].kind === 'ready';
}
