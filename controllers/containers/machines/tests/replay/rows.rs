//! What is different from the Dev provider, and why. docs/nodes.md tells it to users ("What differs from Cluster API's Docker provider").

/// A difference, as a pattern in which `*` stands for any text, and why it is right.
pub type Row<'a> = (&'a str, &'a str);

const ONE_STEP: &str = "a condition waits for the step before its own, and says so once; there, each names the step at which the machine is";
const REASON: &str = "a bootstrap that runs is NotCompleted; there, it has the reason of another condition";
const EARLY: &str =
    "the container is up before there are bootstrap data, and only the bootstrap waits for them";
const AT_ONCE: &str = "what is deleted goes with the write that would say so";
const SEEN: &str = "an end is seen within ten seconds; there, by the next event";
const HINT: &str = "it also says why, and what to do";
const ERROR: &str =
    "errors of containers and images are in the condition of the step; there, only in the log";
const AWAY: &str = "that Docker does not answer is told, except of machines of which nothing else is known";
const FIRST_LINE: &str = "what failed is in the first line";
const SECTIONS: &str = "users and ntp are done; there, they stop the machine for ever";
const MOUNT: &str = "a folder that is missing is an error; there, it is made on the machine";
const STARTED: &str = "the load balancer runs and has an address; there, its container stays stopped, and the machine waits for ever";
const TEXT: &str = "the text of the error is that of what runs the containers";

/// In each recording.
pub const ALWAYS: &[Row<'_>] = &[
    ("there DevMachine * BootstrapCompleted=False/WaitingForContainer", ONE_STEP),
    ("there DevMachine * BootstrapCompleted=False/WaitingForCGroups", ONE_STEP),
    ("there DevMachine * PreLoadedImagesReady=False/WaitingForContainer", ONE_STEP),
    ("here DevMachine * BootstrapCompleted=False/WaitingForPreloadedImages", ONE_STEP),
    ("there DevMachine * BootstrapCompleted=False/NotReady", REASON),
    ("here DevMachine * BootstrapCompleted=False/NotCompleted", REASON),
];

/// A cluster comes up.
pub const COMES: &[Row<'_>] = &[
    ("there DevMachine d1-md-* ContainerProvisioned=False/WaitingForControlPlaneInitialized", EARLY),
    ("here DevMachine d1-md-* BootstrapCompleted=False/WaitingForControlPlaneInitialized", EARLY),
    ("here DevMachine d1-* BootstrapCompleted=False/WaitingForBootstrapData", EARLY),
];

/// A cluster goes.
pub const GOES: &[Row<'_>] = &[
    ("there DevCluster d1 LoadBalancerAvailable=False/Deleting", AT_ONCE),
    ("there DevCluster d1 Ready=False/NotReady", AT_ONCE),
];

/// What befalls containers and Docker, and what is wrong with machines.
pub const BEFALLS: &[Row<'_>] = &[
    // Gone, and killed.
    ("rest there DevMachine d1-md-gnjc2-dwpxm Ready=True/Ready", SEEN),
    ("rest there DevMachine d1-md-gnjc2-dwpxm ContainerProvisioned=True/Provisioned", SEEN),
    ("rest here DevMachine d1-md-gnjc2-dwpxm Ready=False/NotReady", SEEN),
    (
        "rest there DevMachine * ContainerProvisioned=False/NotProvisioned: Container * is not running anymore",
        HINT,
    ),
    (
        "rest here DevMachine * ContainerProvisioned=False/NotProvisioned: Container * is not running anymore: it is gone*",
        HINT,
    ),
    (
        "rest here DevMachine * ContainerProvisioned=False/NotProvisioned: Container * is not running anymore: its init*",
        HINT,
    ),
    // Paused, and then deleted.
    ("there DevMachine d1-md-gnjc2-j2zzf Paused=False/NotPaused", AT_ONCE),
    // Docker is away.
    ("here DevCluster d1 LoadBalancerAvailable=*", AWAY),
    ("here DevCluster d1 Ready=*", AWAY),
    ("rest there DevCluster d1 LoadBalancerAvailable=True/Available", AWAY),
    ("rest there DevCluster d1 Ready=True/Ready", AWAY),
    ("rest here DevCluster d1 LoadBalancerAvailable=False/NotAvailable: * Docker does not answer*", AWAY),
    ("rest here DevCluster d1 Ready=False/NotReady", AWAY),
    ("there DevMachine d1-md-gnjc2-vrwx7 Ready=Unknown/ReadyUnknown", AWAY),
    ("rest there DevMachine d1-md-gnjc2-vrwx7 Ready=Unknown/ReadyUnknown", AWAY),
    (
        "rest here DevMachine d1-md-gnjc2-vrwx7 ContainerProvisioned=False/NotProvisioned: Docker does not answer*",
        AWAY,
    ),
    ("rest here DevMachine d1-md-gnjc2-vrwx7 *", AWAY),
    // A command that fails, and one that lasts too long.
    ("rest there DevMachine bad-* BootstrapCompleted=False/Failed: Running boostrap command*", FIRST_LINE),
    (
        "rest here DevMachine bad-command-* BootstrapCompleted=False/Failed: Bootstrap failed at command*exited with status: 3*",
        FIRST_LINE,
    ),
    (
        "rest here DevMachine bad-slow-* BootstrapCompleted=False/Failed: Bootstrap failed at command*deadline exceeded*",
        FIRST_LINE,
    ),
    // users and ntp.
    ("there DevMachine bad-ntp-* BootstrapCompleted=False/InternalError", SECTIONS),
    ("here DevMachine bad-ntp-* BootstrapCompleted=True/Completed", SECTIONS),
    ("here DevMachine bad-ntp-* Ready=True/Ready", SECTIONS),
    ("rest there DevMachine bad-ntp-* BootstrapCompleted=False/InternalError: *", SECTIONS),
    ("rest there DevMachine bad-ntp-* Ready=False/NotReady", SECTIONS),
    ("rest here DevMachine bad-ntp-* BootstrapCompleted=True/Completed", SECTIONS),
    ("rest here DevMachine bad-ntp-* Ready=True/Ready", SECTIONS),
    // An image that is nowhere, and one whose container ends at once.
    ("there DevMachine bad-i* Ready=Unknown/ReadyUnknown", ERROR),
    ("here DevMachine bad-i* *", ERROR),
    ("rest there DevMachine bad-i* Ready=Unknown/ReadyUnknown", ERROR),
    (
        "rest here DevMachine bad-image-* ContainerProvisioned=False/NotProvisioned: Waiting for image * failed: *",
        ERROR,
    ),
    (
        "rest here DevMachine bad-init-* ContainerProvisioned=False/NotProvisioned: Creating container * failed: *",
        ERROR,
    ),
    ("rest here DevMachine bad-i* Ready=False/NotReady", ERROR),
    ("rest here DevMachine bad-i* *=False/Waiting*", ERROR),
    // A folder that is not there.
    ("there DevMachine bad-mount-* *", MOUNT),
    ("here DevMachine bad-mount-* *", MOUNT),
    ("rest there DevMachine bad-mount-* *", MOUNT),
    (
        "rest here DevMachine bad-mount-* ContainerProvisioned=False/NotProvisioned: * is not on this machine: make it first",
        MOUNT,
    ),
    ("rest here DevMachine bad-mount-* *", MOUNT),
    // An image to import that is nowhere.
    (
        "rest there DevMachine bad-preload-* PreLoadedImagesReady=False/NotReady: Pre-loading image * failed: *",
        TEXT,
    ),
    (
        "rest here DevMachine bad-preload-* PreLoadedImagesReady=False/NotReady: Pre-loading image * failed: *",
        TEXT,
    ),
];

/// What befalls the load balancer and its servers.
pub const UNBALANCED: &[Row<'_>] = &[
    ("rest there DevMachine d2-cp-bbv5r ContainerProvisioned=True/Provisioned", SEEN),
    ("rest there DevMachine d2-cp-bbv5r Ready=True/Ready", SEEN),
    (
        "rest here DevMachine d2-cp-bbv5r ContainerProvisioned=False/NotProvisioned: Container * is not running anymore: *",
        SEEN,
    ),
    ("rest here DevMachine d2-cp-bbv5r Ready=False/NotReady", SEEN),
    ("here DevMachine d2-cp-bbv5r *", SEEN),
    ("there DevCluster d2 LoadBalancerAvailable=False/Deleting", AT_ONCE),
    ("there DevCluster d2 Ready=False/NotReady", AT_ONCE),
];

/// A load balancer that cannot be made.
pub const ERRORS: &[Row<'_>] = &[
    (
        "rest there DevCluster * LoadBalancerAvailable=False/NotAvailable: Failed to create load balancer: *",
        TEXT,
    ),
    (
        "rest here DevCluster * LoadBalancerAvailable=False/NotAvailable: Failed to create load balancer: *",
        TEXT,
    ),
];

/// A stopped container is in the place of the load balancer.
pub const STOPPED: &[Row<'_>] = &[
    ("there DevCluster d2 host=invalid IP", STARTED),
    ("here DevCluster d2 host=<address>", STARTED),
    ("rest there DevCluster d2 host=invalid IP", STARTED),
    ("rest here DevCluster d2 host=<address>", STARTED),
    ("rest there DevMachine d2-cp-h4srl *", STARTED),
    ("rest here DevMachine d2-cp-h4srl *", STARTED),
    ("here DevMachine d2-cp-h4srl *", STARTED),
];

/// Bootstrap data of the format Ignition.
pub const IGNITION: &[Row<'_>] = &[];

const DRAWN: &str =
    "the DevMachine comes first, and has its container like any other; there, the container comes first";
const KEPT: &str = "a machine has its image, and keeps it when the pool gets another one";
const DOMAIN: &str = "the failure domain is told; there, only a label of the container has it";
const TOLD: &str = "conditions and `ready` say how it is; there, they are true for ever once they were";
const ONE_BY_ONE: &str = "an upgrade replaces machines one by one, each after another one is ready";
const INSTANCES: &str = "the instances are told";
const COUNTED: &str = "what is counted is there from the first write to the last; there, it begins with the first machine, and is left as it is by a deletion";
const PAUSED: &str = "a pool says whether it is paused";

/// A pool.
pub const POOL: &[Row<'_>] = &[
    // Its machines.
    ("here DevMachine worker-* CGroupsReady=False/WaitingForContainer", DRAWN),
    ("here DevMachine worker-* ContainerProvisioned=False/NotProvisioned", DRAWN),
    ("here DevMachine worker-* image=kindest/node:v1.36.*", KEPT),
    ("rest here DevMachine worker-* image=kindest/node:v1.36.*", KEPT),
    ("here DevMachine worker-* failureDomain=fd*", DOMAIN),
    ("rest here DevMachine worker-* failureDomain=fd*", DOMAIN),
    // The pool.
    ("there DevMachinePool d1-mp Ready=Unknown/ReadyUnknown", TOLD),
    ("here DevMachinePool d1-mp Ready=*", TOLD),
    ("here DevMachinePool d1-mp ReplicasReady=*", TOLD),
    ("here DevMachinePool d1-mp ready=*", TOLD),
    ("here DevMachinePool d1-mp Paused=False/NotPaused", PAUSED),
    ("rest here DevMachinePool d1-mp Paused=False/NotPaused", PAUSED),
    ("here DevMachinePool d1-mp instances*", INSTANCES),
    ("rest here DevMachinePool d1-mp instances=*", INSTANCES),
    ("there DevMachinePool d1-mp replicas=1", COUNTED),
    ("here DevMachinePool d1-mp replicas=0", COUNTED),
    ("here DevMachinePool d1-mp providerIDs removed=", COUNTED),
    ("there DevMachinePool d1-mp replicas=*", ONE_BY_ONE),
    ("there DevMachinePool d1-mp providerIDs=*", ONE_BY_ONE),
    ("here DevMachinePool d1-mp providerIDs=*", ONE_BY_ONE),
];
