// Stands here until this folder has its first source.
namespace sluice {}
