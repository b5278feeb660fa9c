// Checks the attribute names that a test uses in its settings. Without the check, a value for a mistyped
// name would be ignored silently.

internal import CipherSQLite
internal import ObjectVault

/// The attributes of the versions of a model, in the form `Entity.attribute`.
struct AttributeNames {
  static let advice = "Write a property as Entity.attribute, with the names of the version that is filled."

  private let models: [Schema]
  private let known: Set<String>

  init(_ models: [Schema]) {
    self.models = models
    known = Set(
      models.flatMap { model in
        model.entities.flatMap { entity in entity.attributes.map { "\(entity.name).\($0.name)" } }
      })
  }

  /// Returns what is wrong with the names of a setting, one sentence each.
  /// - Parameter setting: The setting as the test writes it, such as `lab.values`.
  func faults(_ names: some Collection<String>, _ setting: String) -> [String] {
    names.sorted().filter { !known.contains($0) }.map { name in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      // An inherited attribute is set at the entity that declares it, because objects of all subentities
      // share the setting.
      if let owner = parts.count == 2 ? owner(of: parts[1], inheritedBy: parts[0]) : nil {
        return "\(setting)[\"\(name)\"]: \(parts[0]) inherits it; set it for \(owner).\(parts[1])"
      }
      let which = models.count == 1 ? "the model has no" : "no version of the model has an"
      return "\(setting)[\"\(name)\"]: \(which) attribute of this name\(Self.meant(by: name, among: known))"
    }
  }

  private func owner(of attribute: String, inheritedBy name: String) -> String? {
    for model in models.reversed() {
      guard let entity = model.entity(named: name) else { continue }
      let owner = model.ancestors(of: entity).last { $0.attribute(named: attribute) != nil }
      if let owner { return owner.name }
    }
    return nil
  }

  /// Returns a suggestion for a mistyped name; when no name is near, a list of the existing ones.
  static func meant(by name: String, among known: Set<String>) -> String {
    if let question = didYouMean(nearest(name, among: known.sorted())) { return "; \(question)" }
    let shown = known.sorted().prefix(12)
    return known.isEmpty
      ? "" : "; the names are \(shown.joined(separator: ", "))\(known.count > shown.count ? " and more" : "")"
  }
}
