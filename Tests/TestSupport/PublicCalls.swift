// The calls that a type offers, read from the sources, so that a test of all of them fails for a new one.

import Foundation

/// The names of the public instance methods of a type, in all files of a module.
/// - Parameters:
///   - type: The type's name.
///   - module: The module's folder in `Sources`.
public func publicMethods(of type: String, in module: String) throws -> Set<String> {
  let folder = packageRoot.appendingPathComponent("Sources/\(module)")
  var names: Set<String> = []
  let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
  for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
    var isInside = false
    let text = try String(contentsOf: file, encoding: .utf8)
    // Most files do not mention the type, and matching their lines takes seconds.
    guard text.contains("class \(type)") || text.contains("extension \(type)") else { continue }
    for line in text.split(separator: "\n") {
      if line.hasPrefix("}") {
        isInside = false
      } else if !line.hasPrefix(" "),
        let head = line.firstMatch(of: #/^(?:@safe )?(?:public final class|extension) ([\w.]+)/#)
      {
        isInside = head.1 == type
      } else if isInside, line.hasPrefix("  public "),
        let method = line.firstMatch(of: #/^  public (?:mutating )?func (\w+)/#)
      {
        names.insert(String(method.1))
      }
    }
  }
  return names
}
