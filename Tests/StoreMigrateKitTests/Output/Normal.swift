// Removes what differs from run to run and from machine to machine from the output of the tool.

import CipherSQLite
import Foundation
import TestSupport

/// The output of the tool without paths, times, sizes, versions of engines and codes: it is the same in
/// every run. In JSON each value is on a line of its own.
func normalized(_ output: String, folder: String) -> String {
  // Rows keep the order of their columns: they are not objects with sorted keys.
  if !output.contains("\"rows\":["), let data = output.hasPrefix("{") ? Data(output.utf8) : nil,
    let object = try? JSONSerialization.jsonObject(with: data),
    let pretty = try? JSONSerialization.data(
      withJSONObject: normalizedValue(object, folder: folder),
      options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
  {
    return String(decoding: pretty, as: UTF8.self) + "\n"
  }
  return normalizedText(output, folder: folder)
}

private let volatileKeys = [
  "bytes", "seconds", "pages", "freePages", "neededBytes", "freeBytes", "unusedBytes",
  "milliseconds", "cipher", "sqlite", "profile", "pageBytes", "hash", "engine",
]

private func normalizedValue(_ value: Any, folder: String, key: String = "") -> Any {
  switch value {
  case let object as [String: Any]:
    return Dictionary(uniqueKeysWithValues: object.map { ($0, normalizedValue($1, folder: folder, key: $0)) })
  case let array as [Any]: return array.map { normalizedValue($0, folder: folder) }
  case is NSNull: return value
  case let text as String:
    return volatileKeys.contains(key) || key == "recoveryCode"
      ? key.uppercased() : normalizedText(text, folder: folder)
  default: return volatileKeys.contains(key) ? key.uppercased() : value
  }
}

private func normalizedText(_ text: String, folder: String) -> String {
  var text = text
  for path in [folder, URL(fileURLWithPath: folder).resolvingSymlinksInPath().path] {
    text = text.replacing(path, with: "FOLDER")
  }
  // A tool that was called by its path suggests lines with that path.
  for tool in ["store-migrate", "microblog-migrate"] { text = callingByName(text, builtExecutable(tool)) }
  let engine = Engine.current
  text = text.replacing("\(engine)", with: "SQLCipher CIPHER / SQLite SQLITE")
    .replacing("SQLite \(engine.sqliteVersion)", with: "SQLite SQLITE")
    .replacing("\(CipherProfile.engineDefault)", with: "PROFILE")
  text = text.replacing(#/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)?/#, with: "TIME")
    .replacing(#/\.v(\d+)-[^\s"]+?\.backup/#) { ".v\($0.1)-TIME.backup" }
    .replacing(#/SQLCipher \d format, page \d+/#, with: "FORMAT").replacing(
      #/\(hash [0-9a-f…]+\)/#, with: "(hash HASH)"
    )
    .replacing(#/\s\s\d+\.\d\d s\b/#, with: "  SECONDS s").replacing(
      #/SQLite \d\.\d+\.\d+/#, with: "SQLite SQLITE"
    )
    .replacing(#/\d+(\.\d+)? (kB|MB|GB)\b/#, with: "SIZE").replacing(
      #/\(\d+(\.\d+)?(e-\d+)? s\)/#, with: "(SECONDS s)"
    )
    .replacing(#/\d+ pages/#, with: "N pages").replacing(#/\d+ free\b/#, with: "N free")
  text = text.replacing(#/on \d{4}-\d\d-\d\d/#, with: "on DAY")
  // A recovery code is alone at the end.
  if text.contains("Recovery code"), let end = text.split(separator: "\n").last {
    text = text.replacing(end, with: "  CODE")
  }
  return text
}
