// SPDX-License-Identifier: MIT
// mcp_clients.mjs - the clients that agents are built with: every tool, by stdio and HTTP, in each mode.
// They validate each result by its output schema.  Arguments: hotpath, a record, an address.
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';

const [hotpath, file, url] = process.argv.slice(2);
const command = { command: hotpath, args: ['mcp', file] };
const info = { name: 'test', version: '1' };

async function run(name, client, transport)
{
	let answered = 0, code = 0;

	await client.connect(transport);
	const { tools } = await client.listTools();
	for (const tool of tools) {
		const args = {};
		for (const key of tool.inputSchema.required || [])
			args[key] = 0;
		const result = await client.callTool({ name: tool.name, arguments: args });
		answered += !result.isError;
	}
	try {
		await client.callTool({ name: 'nonsense', arguments: {} });
	} catch (error) {
		code = error.code;
	}
	if (answered < 25 || code !== -32602)
		throw new Error(`${name}: ${answered} of ${tools.length} tools, ${code}`);
	console.log(`${name}: ${answered} of ${tools.length} tools`);
	await client.close();
}

await run('v1 stdio', new Client1(info), new Stdio1(command));
await run('v1 http', new Client1(info), new Http1(new URL(url)));
for (const mode of ['auto', 'legacy', { pin: '2026-07-28' }]) {
	const client = () => new Client2(info, { versionNegotiation: { mode } });
	await run(`v2 stdio ${JSON.stringify(mode)}`, client(), new Stdio2(command));
	await run(`v2 http ${JSON.stringify(mode)}`, client(), new Http2(new URL(url)));
}
process.exit(0);
