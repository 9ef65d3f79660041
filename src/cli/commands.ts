/** All commands. Each is loaded, with its libraries, only when it is the one that was called. */
import type { Command } from 'commander';
import type { Context } from './context.ts';

/** Gives a command its arguments, its options and its action. `exit` documents its exit code, unless that is 0. */
export type Define = (command: Command, context: Context, exit: (code: number) => void) => void;

export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** One to three lines as people type them; `--help` and docs/reference/commands.md show them. */
  readonly examples: readonly [string, ...string[]];
  readonly load: () => Promise<Define>;
}

const ofAFleet: readonly CommandEntry[] = [
  {
    name: 'plan',
    description:
      'show what would be changed, without changing anything (exit 0: nothing, 2: changes or drift, or something is held, 1: error)',
    examples: [
      'fleetkeeper plan',
      'fleetkeeper plan fleet -l app=web -o json',
      'fleetkeeper plan -f kubernetes --context prod',
    ],
    load: async () => (await import('./commands/plan.ts')).definePlan,
  },
  {
    name: 'apply',
    description: 'plan, ask, converge and report; exit 0 only when all objects are Ready',
    examples: ['fleetkeeper apply', 'fleetkeeper apply fleet --yes --timeout 20m'],
    load: async () => (await import('./commands/apply.ts')).defineApply,
  },
  {
    name: 'destroy',
    description: 'plan, ask, and delete everything that the fleet manages; exit 0 only when all is gone',
    examples: ['fleetkeeper destroy', 'fleetkeeper destroy fleet --target ContainerService/web'],
    load: async () => (await import('./commands/destroy.ts')).defineDestroy,
  },
  {
    name: 'run',
    description: 'keep the fleet as declared, until stopped',
    examples: [
      'fleetkeeper run fleet --listen 127.0.0.1:9090',
      'fleetkeeper run -f kubernetes --watch-namespaces team-a,team-b',
    ],
    load: async () => (await import('./commands/run.ts')).defineRun,
  },
  {
    name: 'status',
    description: 'show the objects and their status as the manager last wrote them',
    examples: [
      'fleetkeeper status',
      'fleetkeeper status csvc/web -o wide --watch',
      "fleetkeeper status -f fleet --reason InvalidSpec -o jsonpath='{.items[*].metadata.name}'",
    ],
    load: async () => (await import('./commands/status.ts')).defineStatus,
  },
  {
    name: 'describe',
    description:
      'show all that is recorded of an object: conditions, drift, mutations, protection, what happens next',
    examples: ['fleetkeeper describe web', 'fleetkeeper describe task/nightly -f fleet -o yaml'],
    load: async () => (await import('./commands/describe.ts')).defineDescribe,
  },
  {
    name: 'resolve',
    description: 'confirm the outcome of a request that evidence does not show (OutcomeUnknown)',
    examples: [
      'fleetkeeper resolve ContainerService/web --not-applied',
      'fleetkeeper resolve svol/data --applied --id 0a0e4fc3-7a50-4c3b-9d2c-0b8f2f6f8d11',
    ],
    load: async () => (await import('./commands/resolve.ts')).defineResolve,
  },
  {
    name: 'explain',
    description: 'show what a reason means, who has to act, and what to do; or what a field means',
    examples: [
      'fleetkeeper explain OutcomeUnknown',
      'fleetkeeper explain ServiceFleet.spec.update',
      'fleetkeeper explain -o json',
    ],
    load: async () => (await import('./commands/explain.ts')).defineExplain,
  },
];

const ofOneService: readonly CommandEntry[] = [
  {
    name: 'restart',
    description: 'ask for one restart of services, in their documents',
    examples: ['fleetkeeper restart web', 'fleetkeeper restart web worker -f fleet -n team-a'],
    load: async () => (await import('./commands/power.ts')).defineRestart,
  },
  {
    name: 'stop',
    description: 'declare services as stopped, in their documents',
    examples: ['fleetkeeper stop web', 'fleetkeeper stop trainer -f fleet && fleetkeeper apply fleet --yes'],
    load: async () => (await import('./commands/power.ts')).defineStop,
  },
  {
    name: 'start',
    description: 'declare services as running, in their documents',
    examples: ['fleetkeeper start web', 'fleetkeeper start trainer -f fleet -n team-a'],
    load: async () => (await import('./commands/power.ts')).defineStart,
  },
  {
    name: 'logs',
    description: 'print the logs of a service',
    examples: [
      'fleetkeeper logs web -f --tail 100',
      'fleetkeeper logs web --source fleet -n team-a',
      'fleetkeeper logs llm --all --since 10m',
    ],
    load: async () => (await import('./commands/logs.ts')).defineLogs,
  },
  {
    name: 'exec',
    description: 'run a command in a service; exits with its exit code, or 125 if it did not run',
    examples: [
      'fleetkeeper exec web -- nvidia-smi',
      "fleetkeeper exec web -f fleet --timeout 20s -- sh -c 'df -h /data'",
    ],
    load: async () => (await import('./commands/exec.ts')).defineExec,
  },
  {
    name: 'protect',
    description: 'run a command here, and protect the service until it ends; exits with its exit code',
    examples: [
      'fleetkeeper protect trainer -- ./nightly-backup.sh',
      'fleetkeeper protect trainer -f fleet --require --name backup -- rsync -a /data backup:',
    ],
    load: async () => (await import('./commands/protect.ts')).defineProtect,
  },
  {
    name: 'events',
    description: 'show what has happened to a service, newest last',
    examples: ['fleetkeeper events web', 'fleetkeeper events web -f fleet -o json'],
    load: async () => (await import('./commands/events.ts')).defineEvents,
  },
  {
    name: 'metrics',
    description: 'show what a service used lately',
    examples: ['fleetkeeper metrics web --minutes 60', 'fleetkeeper metrics web -f fleet -o json'],
    load: async () => (await import('./commands/metrics.ts')).defineMetrics,
  },
  {
    name: 'open',
    description: 'print the address of a service',
    examples: ['fleetkeeper open web', 'fleetkeeper open web -f fleet --browser'],
    load: async () => (await import('./commands/open.ts')).defineOpen,
  },
];

const ofReplicas: readonly CommandEntry[] = [
  {
    name: 'scale',
    description: 'give a ServiceFleet another number of replicas, beside its document',
    examples: ['fleetkeeper scale llm --replicas 9 --for 2h', 'fleetkeeper scale llm --replicas 0 -f fleet'],
    load: async () => (await import('./commands/scale.ts')).defineScale,
  },
  {
    name: 'retire',
    description: 'drain and remove one replica of a ServiceFleet',
    examples: ['fleetkeeper retire llm-3', 'fleetkeeper retire llm-3 -f fleet -n team-a'],
    load: async () => (await import('./commands/retire.ts')).defineRetire,
  },
  {
    name: 'rollout',
    description:
      'watch and steer how a changed template reaches the replicas (status: exit 0 stable, 1 failed or rolled back, 2 paused)',
    examples: [
      'fleetkeeper rollout status llm --timeout 30m',
      'fleetkeeper rollout history llm -f fleet',
      'fleetkeeper rollout promote llm',
    ],
    load: async () => (await import('./commands/rollout.ts')).defineRollout,
  },
  {
    name: 'endpoints',
    description: 'show where the replicas of a ServiceFleet can be reached',
    examples: ['fleetkeeper endpoints llm', 'fleetkeeper endpoints llm -f fleet -o prometheus'],
    load: async () => (await import('./commands/endpoints.ts')).defineEndpoints,
  },
];

const ofAnAccount: readonly CommandEntry[] = [
  {
    name: 'catalog',
    description: 'show regions, GPUs, prices, templates and limits of an account',
    examples: ['fleetkeeper catalog -f fleet', 'fleetkeeper catalog -f fleet -o json'],
    load: async () => (await import('./commands/catalog.ts')).defineCatalog,
  },
  {
    name: 'inventory',
    description: 'list unmanaged things, with their cost per hour',
    examples: ['fleetkeeper inventory', 'fleetkeeper inventory -f fleet --all -o json'],
    load: async () => (await import('./commands/inventory.ts')).defineInventory,
  },
  {
    name: 'cost',
    description: 'show what everything costs now, by who it is for, and what budgets have spent',
    examples: ['fleetkeeper cost -f fleet', 'fleetkeeper cost -f fleet --by label=team -o json'],
    load: async () => (await import('./commands/cost.ts')).defineCost,
  },
  {
    name: 'ledger',
    description: 'show the ledger of an account; with --follow each entry once, as it appears',
    examples: ['fleetkeeper ledger --account default', 'fleetkeeper ledger -f fleet --follow -o jsonl'],
    load: async () => (await import('./commands/ledger.ts')).defineLedger,
  },
  {
    name: 'import',
    description: 'write documents that adopt the unmanaged things of an account',
    examples: ['fleetkeeper import -o fleet', 'fleetkeeper import -f fleet -o fleet/imported --account lab'],
    load: async () => (await import('./commands/import.ts')).defineImport,
  },
];

const ofThisMachine: readonly CommandEntry[] = [
  {
    name: 'demo',
    description:
      'watch a sample fleet come up, heal, roll out, roll back and shrink on a control plane of its own',
    examples: ['fleetkeeper demo'],
    load: async () => (await import('./commands/demo.ts')).defineDemo,
  },
  {
    name: 'init',
    description: 'write a small folder of documents that can be applied as it is',
    examples: [
      'fleetkeeper init shop --docker',
      'fleetkeeper init shop --docker --image localhost/web:1 --port 8080',
      'fleetkeeper init shop --url https://api.example.com --key-file key',
    ],
    load: async () => (await import('./commands/init.ts')).defineInit,
  },
  {
    name: 'dev',
    description:
      'keep a folder as declared, with containers of this machine; stops with Ctrl-C and deletes nothing',
    examples: ['fleetkeeper dev', 'fleetkeeper dev shop --runtime simulated'],
    load: async () => (await import('./commands/dev.ts')).defineDev,
  },
  {
    name: 'control-plane',
    description: 'serve the Container Compute Control API on this machine',
    examples: [
      'fleetkeeper control-plane --listen 127.0.0.1:8787 --database :memory: --accounts accounts.yaml',
      'fleetkeeper control-plane --listen 127.0.0.1:0 --database plane.db --accounts accounts.yaml --rate-limit 100/s',
    ],
    load: async () => (await import('./commands/control-plane.ts')).defineControlPlane,
  },
  {
    name: 'schema',
    description: 'print the JSON Schema of the documents, for editors',
    examples: ['fleetkeeper schema'],
    load: async () => (await import('./commands/schema.ts')).defineSchema,
  },
  {
    name: 'completion',
    description: 'print the completion script of a shell',
    examples: ['source <(fleetkeeper completion bash)', 'fleetkeeper completion zsh > ~/.zfunc/_fleetkeeper'],
    load: async () => (await import('./commands/completion.ts')).defineCompletion,
  },
];

const ofACluster: readonly CommandEntry[] = [
  {
    name: 'crds',
    description: 'print the CustomResourceDefinitions of the kinds, for `kubectl apply -f -`',
    examples: ['fleetkeeper crds | kubectl apply -f -', 'fleetkeeper crds --check crds'],
    load: async () => (await import('./commands/crds.ts')).defineCrds,
  },
  {
    name: 'page',
    description:
      'serve the page and the read API of a cluster, also while no operator runs; exit 1 when it cannot start',
    examples: [
      'fleetkeeper page --source kubernetes --listen 127.0.0.1:8081',
      'fleetkeeper page --listen 0.0.0.0:8081 --page-kubernetes-auth --page-host fleet.example.com',
    ],
    load: async () => (await import('./commands/page.ts')).definePage,
  },
];

/** By the headings of the help. */
export const commandGroups: Readonly<Record<string, readonly CommandEntry[]>> = {
  'A fleet:': ofAFleet,
  'One service:': ofOneService,
  'Replicas:': ofReplicas,
  'An account:': ofAnAccount,
  'A cluster:': ofACluster,
  'This machine:': ofThisMachine,
};

/** Without `help` and the hidden one. */
export const commandNames: readonly string[] = Object.values(commandGroups).flatMap((group) =>
  group.map(({ name }) => name),
);
