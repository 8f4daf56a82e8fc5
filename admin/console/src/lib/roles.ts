const order = ["viewer", "editor", "publisher", "admin"];

/** Whether a role may do what another one may. The API decides; pages only leave out what it would refuse. */
export const can = (role: string | undefined, needed: "editor" | "publisher" | "admin") => order.indexOf(role ?? "") >= order.indexOf(needed);
