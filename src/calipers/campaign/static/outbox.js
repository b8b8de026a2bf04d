"use strict";
/* Events that are not yet known to be on the server's disk. They are stored in this browser and sent in order,
   repeatedly, until the server confirms them; an event that is sent twice is recorded once. */
class Outbox {
  constructor(prefix, address, answered, changed) {
    Object.assign(this, { prefix, address, answered, changed });
    this.state = "saved";
    this.canStore = true; // whether this browser can store events
    this.last = 0;
    this.waiting = this.stored().sort((a, b) => a.made - b.made);
    this.wake = () => {};
    addEventListener("online", () => this.wake());
    addEventListener("beforeunload", (event) => {
      if (this.waiting.length && !this.canStore) event.preventDefault();
    });
    this.report();
    this.run();
  }

  /* Events of earlier or other windows; sending them again is harmless. */
  stored() {
    const found = [];
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const key = localStorage.key(i);
        if (key.startsWith(this.prefix)) found.push(JSON.parse(localStorage.getItem(key)));
      }
    } catch { this.canStore = false; }
    return found;
  }

  add(event) {
    // (Two at the same moment keep their order.)
    event.made = this.last = Math.max(Date.now(), this.last + 1);
    this.waiting.push(event);
    try { localStorage.setItem(this.prefix + event.id, JSON.stringify(event)); } catch { this.canStore = false; }
    this.report();
    this.run();
  }

  drop(event) {
    this.waiting = this.waiting.filter((each) => each !== event);
    try { localStorage.removeItem(this.prefix + event.id); } catch { /* it was not stored */ }
  }

  report() {
    if (!this.waiting.length) this.state = "saved";
    else if (this.state === "saved") this.state = "saving";
    this.changed(this.state, this.waiting.length);
  }

  async run() {
    if (this.running) return;
    this.running = true;
    let pause = 500;
    while (this.waiting.length) {
      const event = this.waiting[0];
      const { made, ...sent } = event;
      let status = 0, answer = null;
      try {
        const response = await fetch(this.address(), {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(sent),
          signal: AbortSignal.timeout(20000),
        });
        answer = await response.json();
        status = response.status;
      } catch { /* the server cannot be reached, or the response is not ours: try again */ }
      const final = status === 200 || [400, 409, 413, 415, 422].includes(status);
      if (final) {
        this.drop(event);
        pause = 500;
        this.state = "saving";
        this.answered(event, status, answer);
        this.report();
      } else {
        this.state = status === 401 || status === 403 ? "locked" : "waiting";
        this.report();
        await new Promise((resolve) => { this.wake = resolve; setTimeout(resolve, pause); });
        pause = Math.min(pause * 1.6, 8000);
      }
    }
    this.running = false;
  }
}
