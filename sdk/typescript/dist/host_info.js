/** The facts in the host's `hello_ack`. */
export function toHostInfo(frame) {
    const extensionDir = frame.extension_dir ?? process.cwd();
    return {
        protocolVersion: frame.protocol_version ?? 1,
        zotVersion: frame.zot_version ?? '',
        provider: frame.provider ?? '',
        model: frame.model ?? '',
        cwd: frame.cwd ?? '',
        extensionDir,
        dataDir: frame.data_dir ?? extensionDir,
        features: namesIn(frame.features),
        capabilities: namesIn(frame.capabilities),
    };
}
function namesIn(list = []) {
    return new Set(list.filter((name) => typeof name === 'string'));
}
