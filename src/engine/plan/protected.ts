/** The reason of a disruption that waits for activities. */
export const protectedReason = 'Protected';
