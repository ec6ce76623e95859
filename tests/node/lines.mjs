// Answers each line of JSON on standard input with one on standard output.
import { createInterface } from "node:readline";

// Ask as each line says, all at once; what a client raises is told, not raised.
export function serve(ways) {
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const asked = JSON.parse(line);
    let got;
    try {
      got = await ways[asked.way](asked);
    } catch (error) {
      got = { error: `${error.name ?? "error"}: ${error.message}` };
    }
    process.stdout.write(`${JSON.stringify({ number: asked.number, ...got })}\n`);
  });
}

// What comes after the other, repetitions once: reasoning, text, finish.
export class Order {
  kinds = [];

  add(kind) {
    if (this.kinds.at(-1) !== kind) this.kinds.push(kind);
  }
}
