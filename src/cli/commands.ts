/** All commands. Each is loaded, with its libraries, only when it is the one that was called. */
import type { Command } from 'commander';
import type { Context } from './context.ts';

/** Gives a command its arguments, its options and its action. `exit` documents its exit code, unless that is 0. */
export type Define = (command: Command, context: Context, exit: (code: number) => void) => void;

export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<Define>;
}

const ofAFleet: readonly CommandEntry[] = [
  {
    name: 'plan',
    description:
      'show what would be changed, without changing anything (exit 0: nothing, 2: changes or drift, or something is held, 1: error)',
    load: async () => (await import('./commands/plan.ts')).definePlan,
  },
  {
    name: 'apply',
    description: 'plan, ask, converge and report; exit 0 only when all objects are Ready',
    load: async () => (await import('./commands/apply.ts')).defineApply,
  },
  {
    name: 'run',
    description: 'keep the fleet as declared, until stopped',
    load: async () => (await import('./commands/run.ts')).defineRun,
  },
  {
    name: 'status',
    description: 'show the objects and their status as the manager last wrote them',
    load: async () => (await import('./commands/status.ts')).defineStatus,
  },
  {
    name: 'resolve',
    description: 'confirm the outcome of a request that evidence does not show (OutcomeUnknown)',
    load: async () => (await import('./commands/resolve.ts')).defineResolve,
  },
  {
    name: 'explain',
    description: 'show what a reason means, who has to act, and what to do',
    load: async () => (await import('./commands/explain.ts')).defineExplain,
  },
];

const ofOneService: readonly CommandEntry[] = [
  {
    name: 'restart',
    description: 'ask for one restart of services, in their documents',
    load: async () => (await import('./commands/power.ts')).defineRestart,
  },
  {
    name: 'stop',
    description: 'declare services as stopped, in their documents',
    load: async () => (await import('./commands/power.ts')).defineStop,
  },
  {
    name: 'start',
    description: 'declare services as running, in their documents',
    load: async () => (await import('./commands/power.ts')).defineStart,
  },
  {
    name: 'logs',
    description: 'print the logs of a service',
    load: async () => (await import('./commands/logs.ts')).defineLogs,
  },
  {
    name: 'exec',
    description: 'run a command in a service; exits with its exit code, or 125 if it did not run',
    load: async () => (await import('./commands/exec.ts')).defineExec,
  },
  {
    name: 'protect',
    description: 'run a command here, and protect the service until it ends; exits with its exit code',
    load: async () => (await import('./commands/protect.ts')).defineProtect,
  },
  {
    name: 'events',
    description: 'show what has happened to a service, newest last',
    load: async () => (await import('./commands/events.ts')).defineEvents,
  },
  {
    name: 'metrics',
    description: 'show what a service used lately',
    load: async () => (await import('./commands/metrics.ts')).defineMetrics,
  },
  {
    name: 'open',
    description: 'print the address of a service',
    load: async () => (await import('./commands/open.ts')).defineOpen,
  },
];

const ofAnAccount: readonly CommandEntry[] = [
  {
    name: 'inventory',
    description: 'list unmanaged things, with their cost per hour',
    load: async () => (await import('./commands/inventory.ts')).defineInventory,
  },
  {
    name: 'import',
    description: 'write documents that adopt the unmanaged things of an account',
    load: async () => (await import('./commands/import.ts')).defineImport,
  },
];

const ofThisMachine: readonly CommandEntry[] = [
  {
    name: 'demo',
    description: 'watch a sample fleet come up, drift, heal, change and shrink on a control plane of its own',
    load: async () => (await import('./commands/demo.ts')).defineDemo,
  },
  {
    name: 'control-plane',
    description: 'serve the Container Compute Control API on this machine',
    load: async () => (await import('./commands/control-plane.ts')).defineControlPlane,
  },
  {
    name: 'schema',
    description: 'print the JSON Schema of the documents, for editors',
    load: async () => (await import('./commands/schema.ts')).defineSchema,
  },
  {
    name: 'completion',
    description: 'print the completion script of a shell',
    load: async () => (await import('./commands/completion.ts')).defineCompletion,
  },
];

const ofACluster: readonly CommandEntry[] = [
  {
    name: 'crds',
    description: 'print the CustomResourceDefinitions of the kinds, for `kubectl apply -f -`',
    load: async () => (await import('./commands/crds.ts')).defineCrds,
  },
];

/** By the headings of the help. */
export const commandGroups: Readonly<Record<string, readonly CommandEntry[]>> = {
  'A fleet:': ofAFleet,
  'One service:': ofOneService,
  'An account:': ofAnAccount,
  'A cluster:': ofACluster,
  'This machine:': ofThisMachine,
};

/** Without `help` and the hidden one. */
export const commandNames: readonly string[] = Object.values(commandGroups).flatMap((group) =>
  group.map(({ name }) => name),
);
